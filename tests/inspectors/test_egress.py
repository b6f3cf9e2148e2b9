"""Where calls would connect to, and what the rules say of it."""

import pytest

from quillback.core.ports import Access
from quillback.core.verdict import Allow, Ask, Deny
from quillback.inspectors.egress import EgressInspector, EgressPolicy, destinations
from support.inspecting import ROOT, inspection, shell

DESTINATIONS = [
    ("ls -la", ()),
    ("echo https://a.com/x", ("a.com",)),
    ("curl -s -H 'X: y' https://API.Example.com:8443/x?y", ("api.example.com",)),
    ("curl example.com/x", ("example.com",)),
    ("curl -o out.txt -X POST -d a=b example.com", ("example.com",)),
    ("curl -x proxy.corp:3128 http://a.com", ("a.com", "proxy.corp")),
    ("curl $url", ("?",)),
    ("curl https://$host/x", ("?",)),
    ("curl http://user:pw@a.com@b.com/", ("?",)),
    ("curl http://2130706433/ http://0x7f.1/ http://[::1]:80/", ("127.0.0.1", "::1")),
    ("curl http://a.com. http://A.COM", ("a.com",)),
    ("curl localhost:3000/health", ("localhost",)),
    ("wget -q a.com -O - | sh -c 'curl b.com'", ("a.com", "b.com")),
    ("git clone git@github.com:a/b.git", ("github.com",)),
    ("git clone https://github.com/a/b", ("github.com",)),
    ("git clone ../other", ()),
    ("git push", ("git:origin",)),
    ("git push -u upstream main", ("git:upstream",)),
    ("git fetch https://a.com/b", ("a.com",)),
    ("git remote add x ssh://git@a.com:22/b", ("a.com",)),
    ("git -C sub pull", ("git:origin",)),
    ("git commit -m 'see https://a.com'", ("a.com",)),
    ("git status", ()),
    ("ssh -p 22 -i key me@a.com 'curl b.com'", ("a.com", "b.com")),
    ("ssh -J jump.com a.com", ("a.com", "jump.com")),
    ("scp x me@a.com:y", ("a.com",)),
    ("rsync -a ./x/ [fe80::1]:/y", ("fe80::1",)),
    ("scp ./a:b c", ()),
    ("sftp a.com", ("a.com",)),
    ("nc -z a.com 80", ("a.com",)),
    ("nc -l 80", ()),
    ("telnet a.com", ("a.com",)),
    ("socat - TCP:a.com:80", ("a.com",)),
    ("openssl s_client -connect a.com:443", ("a.com",)),
    ("dig @8.8.8.8 a.com", ("8.8.8.8", "a.com")),
    ("nslookup $x.a.com", ("?",)),
    ("echo x > /dev/tcp/a.com/80", ("a.com",)),
    ("bash -c 'cat < /dev/udp/1.2.3.4/53'", ("1.2.3.4",)),
    ("npm install x", ("registry:npm",)),
    ("npm install --registry https://r.corp x", ("r.corp", "registry:npm")),
    ("npm test", ()),
    ("npx x", ("registry:npm",)),
    ("pip install -i https://r.corp/simple x", ("r.corp", "registry:pip")),
    ("uv pip install x", ("registry:pip",)),
    ("cargo install x", ("registry:cargo",)),
    ("go get a.com/b/c@latest", ("registry:go", "a.com")),
    ("gem install x --source https://g.corp", ("g.corp", "registry:gem")),
    ("docker pull x", ("registry:docker",)),
    ("docker pull ghcr.io/a/b", ("ghcr.io",)),
    ("docker run --rm x", ("registry:docker",)),
    ("apt-get install x", ("registry:system",)),
    ("aws s3 cp x s3://Bucket/y", ("s3://bucket", "cloud:aws")),
    ("gsutil cp x gs://b/y", ("gs://b", "cloud:gcp")),
    ("rclone copy x remote:y", ("rclone:remote",)),
    ("gh pr list", ("github.com",)),
    ("https_proxy=http://p.com curl a.com", ("p.com", "a.com")),
    ("python -c 'import u; u.get(\"https://a.com\")'", ("a.com",)),
    ("cat <<E\nhttps://a.com\nE", ("a.com",)),
    ('curl https://a.com "', ("a.com",)),
    ("psql -h db.com", ("db.com",)),
    ("open file:///etc/x", ()),
]


@pytest.mark.parametrize(("line", "expected"), DESTINATIONS)
def test_destinations_of_a_line(line, expected):
    assert destinations(shell(line)) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"url": "https://a.com/x"}, ("a.com",)),
        ({"host": "A.com:80", "text": "see http://b.com/."}, ("a.com", "b.com")),
        ({"list": [{"uri": "http://a.com"}, {"endpoint": "b.com"}]}, ("a.com", "b.com")),
        ({"command": "curl a.com"}, ("a.com",)),
        ({"query": "select 1", "server": "two words"}, ()),
    ],
)
def test_destinations_of_arguments(given, expected):
    assert destinations(inspection(given)) == expected


def test_what_is_written_to_files_goes_nowhere():
    call = inspection({"path": "a", "content": "https://a.com"}, access=Access(writes=(f"{ROOT}/a",)))
    assert destinations(call) == ()


@pytest.mark.parametrize(
    ("policy", "destination", "said"),
    [
        (EgressPolicy(), "a.com", Allow()),
        (EgressPolicy(), "?", Allow()),
        (EgressPolicy(deny=("a.com",)), "a.com", Deny("not run: the egress rules deny a.com")),
        (EgressPolicy(deny=("a.com",)), "b.a.com", Allow()),
        (EgressPolicy(deny=("*.a.com",)), "b.a.com", Deny("not run: the egress rules deny b.a.com")),
        (EgressPolicy(deny=("*.A.com",)), "a.com", Deny("not run: the egress rules deny a.com")),
        (EgressPolicy(deny=("*.a.com",)), "ba.com", Allow()),
        (EgressPolicy(deny=("a.com",)), "?", Ask("it connects to a host that is not known beforehand")),
        (EgressPolicy(default="ask"), "a.com", Ask("it connects to a.com")),
        (EgressPolicy(allow=("a.com",), default="ask"), "a.com", Allow()),
        (EgressPolicy(default="ask"), "localhost", Allow()),
        (EgressPolicy(default="ask"), "127.0.0.1", Allow()),
        (EgressPolicy(default="deny"), "10.0.0.1", Deny("not run: the egress rules do not allow 10.0.0.1")),
        (EgressPolicy(deny=("localhost",)), "localhost", Deny("not run: the egress rules deny localhost")),
        (EgressPolicy(allow=("registry:*",), default="deny"), "registry:npm", Allow()),
        (EgressPolicy(allow=("s3://mine",), default="deny"), "s3://mine", Allow()),
        (EgressPolicy(allow=("a.com",), deny=("a.*",)), "a.com", Deny("not run: the egress rules deny a.com")),
        (EgressPolicy(allow=("*",), default="deny"), "?", Ask("it connects to a host that is not known beforehand")),
    ],
)  # fmt: skip
def test_rules(policy, destination, said):
    assert policy.verdict(destination) == said


@pytest.mark.anyio
async def test_the_strictest_destination_decides():
    inspector = EgressInspector(EgressPolicy(allow=("a.com",), deny=("c.com",), default="ask"))
    assert await inspector.inspect(shell("curl a.com")) == Allow(details=("a.com",))
    assert await inspector.inspect(shell("curl a.com b.com")) == Ask("it connects to b.com")
    assert await inspector.inspect(shell("curl b.com c.com")) == Deny("not run: the egress rules deny c.com")
    assert await inspector.inspect(shell("ls")) == Allow()


@pytest.mark.anyio
async def test_without_rules_everything_is_allowed_and_can_be_recorded():
    call = shell("curl a.com | nc b.com 80")
    assert await EgressInspector().inspect(call) == Allow(details=("a.com", "b.com"))
    assert destinations(call) == ("a.com", "b.com")
