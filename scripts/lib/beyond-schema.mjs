import pg from 'pg';

// What the migrations make and schema.prisma cannot say. The schema engine passes over all of it in silence, so it is
// listed here, each with its reason: an object that is not on the list is drift, and so is an entry without an object.
export const beyondSchema = [
  [/^check \w+_is_u(64|48)$/, 'ids and times outside their range would break the order of cursors and inbox records'],
  [/^check \w+_not_negative$/, 'a counter below zero is a lost or doubled change: better an error than a wrong number'],
  [/^check follows_not_self$/, 'nobody follows themselves'],
  [/^check feed_state_is_one_row$/, 'the policy in force is one row'],
  [/^check id_leases_worker_id_is_10_bit$/, 'a Snowflake id has ten bits for its maker'],
  [/^index contents_outbox_idx$/, 'partial and covering: an outbox is read by index alone, without deleted contents'],
  [/^index contents_repost_of_idx$/, 'partial: few contents are reposts'],
  [/^index reactions_newest_idx$/, 'partial: withdrawn reactions stay as rows for their version'],
  [/^index comments_newest_idx$/, 'partial: deleted comments are never listed'],
  [/^index events_waiting_idx$/, 'partial: the relay reads the few waiting events among all'],
  [/^index fanouts_in_flight_idx$/, 'partial: the in-flight list is short and read at every page'],
  [/^index fanouts_in_flight_time_idx$/, 'partial, with a column beside the key: the next in flight of everybody'],
  [/^index fanout_tasks_unfinished_idx$/, 'partial: as fanouts_in_flight_idx, for the tasks'],
  [
    /^index account_removals_waiting_idx$/,
    'partial: of all accounts that were ever deleted few are still being removed',
  ],
  [/^partitioned table inbox, 16 partitions$/, 'hash partitions by reader keep the indexes and vacuums small'],
];

/** Names of everything in the database that schema.prisma has no words for. */
export async function listBeyondSchema(databaseUrl) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query(catalogSql);
    return rows.map((row) => row.name);
  } finally {
    await client.end();
  }
}

const catalogSql = `
  WITH own AS (SELECT * FROM pg_class WHERE relnamespace = 'public'::regnamespace AND NOT relispartition)
  SELECT 'index ' || own.relname AS name FROM pg_index JOIN own ON own.oid = indexrelid
   WHERE indpred IS NOT NULL OR indexprs IS NOT NULL OR indnatts > indnkeyatts
  UNION ALL
  SELECT CASE contype WHEN 'c' THEN 'check ' ELSE 'exclusion ' END || conname
    FROM pg_constraint JOIN own ON own.oid = conrelid WHERE contype IN ('c', 'x')
  UNION ALL
  SELECT format('partitioned table %s, %s partitions', relname, (SELECT count(*) FROM pg_inherits WHERE inhparent = own.oid))
    FROM own WHERE relkind = 'p'
  UNION ALL
  SELECT CASE relkind WHEN 'v' THEN 'view ' ELSE 'materialized view ' END || relname FROM own WHERE relkind IN ('v', 'm')
  UNION ALL
  SELECT format('trigger %s on %s', tgname, relname) FROM pg_trigger JOIN own ON own.oid = tgrelid WHERE NOT tgisinternal
  UNION ALL
  SELECT 'function ' || proname FROM pg_proc
   WHERE pronamespace = 'public'::regnamespace
     AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')
  ORDER BY 1`;
