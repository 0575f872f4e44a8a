"""A block manager to start from: a dict of lists, and a part of the contract.

The whole contract is in `blockmark_impls/contract.py`. What is left out here (extend,
drop_front, write_block_tables) makes a model unavailable, not wrong.
"""

from blockmark_impls.contract import (
    Copy,
    OutOfBlocks,
    Profile,
    SequenceExists,
    SequenceTooLong,
    UnknownSequence,
)


class Manager:
    reuse_order = "LIFO"
    profile = Profile(ref_counts=True, id_type="int object")

    def __init__(self, config):
        self.block_size = config.block_size
        self.max_seqs = config.max_seqs
        self.max_blocks = config.max_blocks_per_seq
        self.usable_blocks = config.total_blocks
        self.free_blocks = list(range(config.total_blocks - 1, -1, -1))
        self.refs = [0] * config.total_blocks
        self.tables = {}  # sequence -> physical blocks in logical order
        self.tokens = {}  # sequence -> its length

    @property
    def num_free_blocks(self):
        return len(self.free_blocks)

    def can_allocate(self, num_blocks):
        return num_blocks <= len(self.free_blocks)

    def allocate(self, seq, num_tokens):
        self.check_new(seq)
        if num_tokens < 1:
            raise ValueError(f"num_tokens = {num_tokens}")
        count = -(-num_tokens // self.block_size)
        if count > self.max_blocks:
            raise SequenceTooLong(seq)
        if count > len(self.free_blocks):
            raise OutOfBlocks(count)
        self.tables[seq] = [self.take() for _ in range(count)]
        self.tokens[seq] = num_tokens

    def append_slot(self, seq):
        table = self.table_of(seq)
        copy = None
        if self.tokens[seq] % self.block_size == 0:
            if len(table) == self.max_blocks:
                raise SequenceTooLong(seq)
            table.append(self.take())
        elif self.refs[table[-1]] > 1:  # shared, and about to be written
            copy = Copy(table[-1], self.take())
            self.refs[copy.src] -= 1
            table[-1] = copy.dst
        self.tokens[seq] += 1
        return copy

    def truncate(self, seq, num_tokens):
        table = self.table_of(seq)
        if not 1 <= num_tokens <= self.tokens[seq]:
            raise ValueError(f"num_tokens = {num_tokens}")
        keep = -(-num_tokens // self.block_size)
        while len(table) > keep:
            self.give(table.pop())
        self.tokens[seq] = num_tokens

    def fork(self, parent, child, num_blocks=None):
        table, tokens = self.table_of(parent), self.tokens[parent]
        self.check_new(child)
        if num_blocks is not None:
            if not 1 <= num_blocks <= tokens // self.block_size:
                raise ValueError(f"num_blocks = {num_blocks}")
            table, tokens = table[:num_blocks], num_blocks * self.block_size
        for block in table:
            self.refs[block] += 1
        self.tables[child], self.tokens[child] = list(table), tokens

    def free(self, seq):
        for block in self.table_of(seq):
            self.give(block)
        del self.tables[seq], self.tokens[seq]

    def lookup(self, seq, logical):
        table = self.table_of(seq)
        if not 0 <= logical < len(table):
            raise UnknownSequence(f"sequence {seq} has no block {logical}")
        return table[logical]

    def ref_count(self, block):
        return self.refs[block]

    def num_tokens(self, seq):
        self.table_of(seq)
        return self.tokens[seq]

    def block_table(self, seq):
        return list(self.table_of(seq))

    def table_of(self, seq):
        if seq not in self.tables:
            raise UnknownSequence(seq)
        return self.tables[seq]

    def check_new(self, seq):
        if not 0 <= seq < self.max_seqs:
            raise ValueError(f"there is no slot {seq}")
        if seq in self.tables:
            raise SequenceExists(seq)

    def take(self):
        if not self.free_blocks:
            raise OutOfBlocks(1)
        block = self.free_blocks.pop()
        self.refs[block] = 1
        return block

    def give(self, block):
        self.refs[block] -= 1
        if self.refs[block] == 0:
            self.free_blocks.append(block)
