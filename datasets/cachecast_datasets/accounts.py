"""The names that stand for accounts in every file."""

import hashlib


def account_key(account: str) -> str:
    """Accounts never reach a file as they are: a name for the same isolation, not for a person."""
    return hashlib.blake2b(account.encode(), digest_size=8, person=b"cachecast.acct").hexdigest()
