"""The names that stand for accounts in every file."""

import hashlib
import re

import pyarrow as pa
import pyarrow.compute as pc

_KEY = re.compile(r"[0-9a-f]{16}")


def account_key(account: str) -> str:
    """Accounts never reach a file as they are: a name for the same isolation, not for a person."""
    return hashlib.blake2b(account.encode(), digest_size=8, person=b"cachecast.acct").hexdigest()


def stored_account(account: str, is_ours: bool) -> str:
    """The account as a file may hold it, from a Parquet that an import of ours wrote or did not.

    Only there a name that looks like a key is one; anybody else's may be called so.
    """
    return account if is_ours and _KEY.fullmatch(account) else account_key(account)


def without_accounts(batch: pa.RecordBatch, is_ours: bool) -> pa.RecordBatch:
    """A batch of the request log with keys for its accounts; the same one if it has only keys."""
    index = batch.schema.get_field_index("account")
    if index < 0 or batch.column(index).null_count == batch.num_rows:
        return batch
    names = pc.unique(batch.column(index)).to_pylist()
    keys = {name: name if name is None else stored_account(name, is_ours) for name in names}
    if all(name == key for name, key in keys.items()):
        return batch
    stored = pa.array([keys[name] for name in batch.column(index).to_pylist()], pa.string())
    return batch.set_column(index, batch.schema.field(index), stored)
