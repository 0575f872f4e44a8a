"""A first version with a mistake that is easily made: `free` forgets who else reads."""

import my_manager


class Manager(my_manager.Manager):
    def free(self, seq):
        for block in self.table_of(seq):
            self.refs[block] = 0
            self.free_blocks.append(block)
        del self.tables[seq], self.tokens[seq]
