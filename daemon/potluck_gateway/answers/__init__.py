"""How an answer is made: from messages to tokens, and from tokens to text, thinking and calls."""
