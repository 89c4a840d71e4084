import { newestOf, type Entry } from '../../domain/entry.js';
import { decodeHead, encodeHead } from '../../domain/inbox-head.js';
import { defineStatement, inTransaction, type Pool } from '../database.js';
import type { InboxUpkeep } from './upkeep.js';

export const createPostgresUpkeep = (pool: Pool): InboxUpkeep => ({
  async list(position, limit) {
    const rows = await selectOwners(pool, [position || '-1', limit]);
    const userIds = rows.map((row) => BigInt(row.user_id));
    return { userIds, position: rows.length < limit ? null : String(userIds.at(-1)) };
  },

  trimOlder: (userIds, time) =>
    inTransaction(pool, async (client) => {
      const floor: Entry = { publishTime: time, contentId: 0n };
      // The head's row is the lock of its inbox (postgres.ts).
      const locked = await lockHeads(client, [userIds.map(String)]);
      const trimmed = await deleteOlder(client, [locked.map((row) => row.user_id), time]);
      const heads = trimmed.map((row) => {
        const head = decodeHead(row.head);
        if (!head) return row.head;
        const raised = (it: Entry): Entry => newestOf(it, floor);
        const floors = {
          allFloor: raised(head.allFloor),
          activeFloor: raised(head.activeFloor),
          trimFloor: raised(head.trimFloor),
        };
        return encodeHead({ ...head, ...floors });
      });
      await writeHeads(client, [trimmed.map((row) => row.user_id), heads]);
      return trimmed.reduce((sum, row) => sum + row.dropped, 0);
    }),
});

const selectOwners = defineStatement<{ user_id: string }>(
  'upkeep_owners',
  'SELECT user_id FROM inbox_heads WHERE user_id > $1::numeric ORDER BY user_id LIMIT $2',
);

const lockHeads = defineStatement<{ user_id: string }>(
  'upkeep_lock_heads',
  'SELECT user_id FROM inbox_heads WHERE user_id = ANY($1::numeric[]) ORDER BY user_id FOR UPDATE',
);

const deleteOlder = defineStatement<{ user_id: string; head: string; dropped: number }>(
  'upkeep_delete_older',
  `WITH gone AS (DELETE FROM inbox WHERE user_id = ANY($1::numeric[]) AND publish_time < $2 RETURNING user_id),
   counted AS (SELECT user_id, count(*)::int AS dropped FROM gone GROUP BY user_id)
   SELECT h.user_id, h.head, c.dropped FROM counted c JOIN inbox_heads h USING (user_id)`,
);

const writeHeads = defineStatement(
  'upkeep_write_heads',
  `UPDATE inbox_heads h SET head = n.head, entry_count = (SELECT count(*) FROM inbox i WHERE i.user_id = h.user_id)
   FROM unnest($1::numeric[], $2::text[]) AS n(user_id, head) WHERE h.user_id = n.user_id`,
);
