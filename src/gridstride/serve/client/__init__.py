"""The other side: conversations, servers that are asked, and text of the tokens that come."""
