"""The language server: code actions and edits for editors without a plugin of ours, beside the methods of ACP."""
