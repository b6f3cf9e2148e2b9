"""Recipes: prompts in files, with parameters, checks that say when the work is done, and a final output."""
