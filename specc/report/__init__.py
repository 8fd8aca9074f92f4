"""Stages of a spec as text for people: tree, program, plan, what a rank holds, drawings."""
