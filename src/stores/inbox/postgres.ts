import type pg from 'pg';
import { ENTRY_MIN, newestOf, type Entry } from '../../domain/entry.js';
import { begunHead, decodeHead, encodeHead, type InboxHead } from '../../domain/inbox-head.js';
import { defineStatement, inTransaction, type Queryable } from '../database.js';
import type { InboxStore } from './inbox-store.js';

/**
 * Table `inbox`, hash-partitioned by reader; a page is an index-only scan of idx_feed. The row in `inbox_heads` is the
 * lock of its inbox: every writer takes it first, in ascending user id, so that two batches cannot deadlock.
 */
export function createPostgresInboxStore(deps: { pool: pg.Pool; maxEntries: number }): InboxStore {
  const { pool, maxEntries } = deps;

  return {
    name: 'postgres',

    insert: (userIds, entry) =>
      inTransaction(pool, async (client) => {
        const ids = userIds.map(String);
        const present = await lockHeads(client, [ids]);
        const added = await insertEntry(client, [
          present.map((row) => row.user_id),
          entry.publishTime,
          String(entry.contentId),
        ]);
        await trimInboxes(
          client,
          added.filter((row) => row.entry_count > maxEntries),
          maxEntries,
        );
        return { delivered: present.length, absent: userIds.length - present.length };
      }),

    async read(userId, { from, direction, limit }) {
      const args = [String(userId), from?.publishTime ?? null, from ? String(from.contentId) : null, limit];
      const rows = await (direction === 'newer' ? readNewer : from ? readOlder : readNewest)(pool, args);
      const head = rows[0] ? decodeHead(rows[0].head) : null;
      if (!head) return { head: null, entries: [] };
      return { head, entries: rows.filter((row) => row.content_id !== null).map(entryOf) };
    },

    async begin(userId, nonce) {
      await inTransaction(pool, async (client) => {
        const [row] = await insertHead(client, [String(userId), encodeHead(begunHead(nonce))]);
        if (row) return;
        const head = await lockHead(client, userId);
        const renewed = head ? { ...head, trimFloor: ENTRY_MIN, nonce } : begunHead(nonce);
        await writeHeads(client, [[String(userId)], [encodeHead(renewed)]]);
      });
    },

    fill: (userId, nonce, fill) =>
      inTransaction(pool, async (client) => {
        const head = await lockHead(client, userId);
        if (head?.nonce !== nonce) return false;
        const allFloor = newestOf(fill.allFloor, head.trimFloor);
        const activeFloor = newestOf(fill.activeFloor, head.trimFloor);
        const { epoch, followSeq, activeSeq, awakeSeq } = fill;
        const filled = { ...head, epoch, followSeq, activeSeq, awakeSeq, allFloor, activeFloor };
        await writeHeads(client, [[String(userId)], [encodeHead(filled)]]);
        const times = fill.entries.map((entry) => entry.publishTime);
        const ids = fill.entries.map((entry) => String(entry.contentId));
        const [row] = await insertEntries(client, [String(userId), times, ids]);
        if (row && row.entry_count > maxEntries) await trimInboxes(client, [row], maxEntries);
        return true;
      }),

    async remove(userId, contents, followSeq) {
      await inTransaction(pool, async (client) => {
        const head = await lockHead(client, userId);
        if (!head || (followSeq !== null && head.followSeq !== followSeq)) return;
        const times = contents.map((entry) => entry.publishTime);
        await removeEntries(client, [String(userId), times, contents.map((entry) => String(entry.contentId))]);
      });
    },

    async drop(userIds) {
      const ids = userIds.map(String);
      await inTransaction(pool, async (client) => {
        await lockHeads(client, [ids]);
        await dropInboxes(client, [ids]);
      });
    },
  };
}

interface CountRow {
  user_id: string;
  entry_count: number;
}

interface PageRow {
  head: string;
  publish_time: string;
  content_id: string | null;
}

const entryOf = (row: { publish_time: string; content_id: string | null }): Entry => ({
  publishTime: Number(row.publish_time),
  contentId: BigInt(row.content_id as string),
});

async function lockHead(client: Queryable, userId: bigint): Promise<InboxHead | null> {
  const [row] = await lockHeads(client, [[String(userId)]]);
  return row ? decodeHead(row.head) : null;
}

/** Deletes the oldest entries beyond the cap and raises the floors of each inbox to the oldest one kept. */
async function trimInboxes(client: Queryable, inboxes: readonly CountRow[], cap: number): Promise<void> {
  if (inboxes.length === 0) return;
  const ids = inboxes.map((row) => row.user_id);
  const trimmed = await trimEntries(client, [ids, inboxes.map((row) => row.entry_count - cap)]);
  const heads = trimmed.map((row) => {
    const head = decodeHead(row.head) as InboxHead;
    const oldest = entryOf(row);
    return encodeHead({
      ...head,
      allFloor: newestOf(head.allFloor, oldest),
      activeFloor: newestOf(head.activeFloor, oldest),
      trimFloor: newestOf(head.trimFloor, oldest),
    });
  });
  await writeHeads(client, [trimmed.map((row) => row.user_id), heads]);
}

const lockHeads = defineStatement<{ user_id: string; head: string }>(
  'inbox_lock_heads',
  `SELECT user_id, head FROM inbox_heads WHERE user_id = ANY($1::numeric[]) ORDER BY user_id FOR UPDATE`,
);

const insertHead = defineStatement<{ user_id: string }>(
  'inbox_insert_head',
  `INSERT INTO inbox_heads (user_id, head) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING user_id`,
);

const writeHeads = defineStatement(
  'inbox_write_heads',
  `UPDATE inbox_heads h SET head = n.head FROM unnest($1::numeric[], $2::text[]) AS n(user_id, head)
   WHERE h.user_id = n.user_id`,
);

/** ON CONFLICT makes a repeated batch harmless: the count moves only with rows that were really added. */
const insertEntry = defineStatement<CountRow>(
  'inbox_insert_entry',
  `WITH added AS (
     INSERT INTO inbox (user_id, publish_time, content_id) SELECT u, $2, $3 FROM unnest($1::numeric[]) AS u
     ON CONFLICT DO NOTHING RETURNING user_id)
   UPDATE inbox_heads h SET entry_count = h.entry_count + 1 FROM added a WHERE h.user_id = a.user_id
   RETURNING h.user_id, h.entry_count`,
);

const insertEntries = defineStatement<CountRow>(
  'inbox_insert_entries',
  `WITH added AS (
     INSERT INTO inbox (user_id, publish_time, content_id)
     SELECT $1::numeric, e.t, e.id FROM unnest($2::bigint[], $3::numeric[]) AS e(t, id)
     ON CONFLICT DO NOTHING RETURNING 1)
   UPDATE inbox_heads SET entry_count = entry_count + (SELECT count(*) FROM added)::int WHERE user_id = $1
   RETURNING user_id, entry_count`,
);

const trimEntries = defineStatement<{ user_id: string; head: string; publish_time: string; content_id: string }>(
  'inbox_trim_entries',
  `WITH full_inboxes AS (SELECT * FROM unnest($1::numeric[], $2::int[]) AS f(user_id, excess)),
   oldest AS (
     SELECT f.user_id, k.publish_time, k.content_id FROM full_inboxes f CROSS JOIN LATERAL (
       SELECT publish_time, content_id FROM inbox i WHERE i.user_id = f.user_id
       ORDER BY publish_time, content_id OFFSET f.excess LIMIT 1) k),
   removed AS (
     DELETE FROM inbox i USING oldest o
     WHERE i.user_id = o.user_id AND (i.publish_time, i.content_id) < (o.publish_time, o.content_id)),
   counted AS (
     UPDATE inbox_heads h SET entry_count = h.entry_count - f.excess FROM full_inboxes f WHERE h.user_id = f.user_id)
   SELECT h.user_id, h.head, o.publish_time, o.content_id FROM oldest o JOIN inbox_heads h USING (user_id)`,
);

const removeEntries = defineStatement(
  'inbox_remove_entries',
  `WITH removed AS (
     DELETE FROM inbox i USING unnest($2::bigint[], $3::numeric[]) AS e(t, id)
     WHERE i.user_id = $1 AND i.publish_time = e.t AND i.content_id = e.id RETURNING 1)
   UPDATE inbox_heads SET entry_count = entry_count - (SELECT count(*) FROM removed)::int WHERE user_id = $1`,
);

const dropInboxes = defineStatement(
  'inbox_drop',
  `WITH removed AS (DELETE FROM inbox WHERE user_id = ANY($1::numeric[]))
   DELETE FROM inbox_heads WHERE user_id = ANY($1::numeric[])`,
);

const pageStatement = (name: string, condition: string, order: 'ASC' | 'DESC') =>
  defineStatement<PageRow>(
    name,
    `SELECT h.head, i.publish_time, i.content_id FROM inbox_heads h LEFT JOIN LATERAL (
       SELECT publish_time, content_id FROM inbox
       WHERE user_id = $1 ${condition} ORDER BY publish_time ${order}, content_id ${order} LIMIT $4) i ON true
     WHERE h.user_id = $1 ORDER BY i.publish_time ${order}, i.content_id ${order}`,
  );

/** The row comparison is an index condition; its OR form would be a filter that reads every newer row. */
const readOlder = pageStatement(
  'inbox_read_older',
  'AND (publish_time, content_id) < ($2::bigint, $3::numeric)',
  'DESC',
);
const readNewer = pageStatement(
  'inbox_read_newer',
  'AND (publish_time, content_id) > ($2::bigint, $3::numeric)',
  'ASC',
);
const readNewest = pageStatement('inbox_read_newest', 'AND $2::bigint IS NULL AND $3::numeric IS NULL', 'DESC');
