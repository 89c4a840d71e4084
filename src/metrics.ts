import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export type Metrics = ReturnType<typeof createMetrics>;

/** Seconds, from a page out of memory to one that pulled everything; the same buckets make panels comparable. */
const PAGE_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** Seconds, from a small fan-out to a backlog of an hour. */
const DELIVERY_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600];
const BATCH_SIZES = [1, 2, 5, 10, 20, 50, 100, 200, 500];

/** Every metric of Tideline, once per registry. Times are in seconds, as Prometheus wants them. */
export function createMetrics(registry: Registry) {
  const registers = [registry];
  return {
    pageSeconds: new Histogram({
      name: 'tideline_page_seconds',
      help: 'Time to answer one page of a timeline.',
      labelNames: ['page'] as const, // first | next
      buckets: PAGE_SECONDS,
      registers,
    }),
    pagesShort: new Counter({
      name: 'tideline_pages_short_total',
      help: 'Pages with fewer entries than asked for although the feed goes on (the scan budget ran out).',
      registers,
    }),
    entriesFiltered: new Counter({
      name: 'tideline_entries_filtered_total',
      help: 'Entries left out of a page, by reason.',
      labelNames: ['reason'] as const,
      registers,
    }),
    duplicatesRemoved: new Counter({
      name: 'tideline_duplicates_removed_total',
      help: 'Entries that more than one source brought to the same page.',
      registers,
    }),
    floorPulls: new Counter({
      name: 'tideline_floor_pulls_total',
      help: 'Reads below a floor, answered from outboxes.',
      registers,
    }),
    rebuilds: new Counter({
      name: 'tideline_rebuilds_total',
      help: 'Inboxes written back after a pull, by result.',
      labelNames: ['result'] as const,
      registers,
    }),
    inboxesDamaged: new Counter({
      name: 'tideline_inboxes_damaged_total',
      help: 'Times that an inbox in Redis was cut, contradicted itself or was a foreign value, and counted as missing.',
      registers,
    }),
    audits: new Counter({
      name: 'tideline_audits_total',
      help: 'First pages of random readers compared with the authority, by result.',
      labelNames: ['result'] as const, // clean | faulty | failed
      registers,
    }),
    auditFaults: new Counter({
      name: 'tideline_audit_faults_total',
      help: 'Entries that an audit found missing, extra or misordered.',
      labelNames: ['kind'] as const,
      registers,
    }),
    projectionLagSeconds: new Gauge({
      name: 'tideline_counter_projection_lag_seconds',
      help: 'Age of the oldest change of counts that the projection in Redis may not show yet.',
      registers,
    }),
    projectionBacklog: new Gauge({
      name: 'tideline_counter_projection_backlog',
      help: 'Changes of counts that the projection in Redis may not show yet.',
      registers,
    }),
    shardsFolded: new Counter({
      name: 'tideline_counter_shards_folded_total',
      help: 'Shards of hot counters that were folded back into their row.',
      registers,
    }),
    reconciledContents: new Counter({
      name: 'tideline_reconcile_contents_total',
      help: 'Contents whose counts were compared with the relations.',
      registers,
    }),
    reconcileDifferences: new Counter({
      name: 'tideline_reconcile_differences_total',
      help: 'Counts that were not what the relations, or the counters behind the projection, say.',
      labelNames: ['kind'] as const, // likes | comments | reposts | favorites | projection | follows
      registers,
    }),
    publishToDeliveredSeconds: new Histogram({
      name: 'tideline_publish_to_delivered_seconds',
      help: 'Time from the commit of a content to the end of its last task.',
      buckets: DELIVERY_SECONDS,
      registers,
    }),
    deliveries: new Counter({
      name: 'tideline_deliveries_total',
      help: 'Entries written to inboxes.',
      registers,
    }),
    liveTimelines: new Gauge({
      name: 'tideline_live_timelines',
      help: 'Open subscriptions to timelineUpdated in this process.',
      registers,
    }),
    liveUpdates: new Counter({
      name: 'tideline_live_updates_total',
      help: 'Updates told to open timelines.',
      registers,
    }),
    freed: new Counter({
      name: 'tideline_freed_total',
      help: 'What maintenance has deleted, by kind.',
      labelNames: ['what'] as const, // event | task | inbox | old entry | stale entry | projection
      registers,
    }),
    relayBacklog: new Gauge({
      name: 'tideline_relay_backlog',
      help: 'Events that are not yet in the queue.',
      registers,
    }),
    relayBacklogAgeSeconds: new Gauge({
      name: 'tideline_relay_backlog_age_seconds',
      help: 'Age of the oldest event that is not yet in the queue.',
      registers,
    }),
    queueJobs: new Gauge({
      name: 'tideline_queue_jobs',
      help: 'Jobs by queue and state, counted when scraped.',
      labelNames: ['queue', 'state'] as const,
      registers,
    }),
    cacheRequests: new Counter({
      name: 'tideline_cache_requests_total',
      help: 'Look-ups in process-local caches, by result.',
      labelNames: ['cache', 'result'] as const,
      registers,
    }),
    sourceFailures: new Counter({
      name: 'tideline_source_failures_total',
      help: 'Look-ups in a source that failed or took too long.',
      labelNames: ['source'] as const,
      registers,
    }),
    hydrationBatchSize: new Histogram({
      name: 'tideline_hydration_batch_size',
      help: 'Keys per look-up in a source.',
      labelNames: ['source'] as const,
      buckets: BATCH_SIZES,
      registers,
    }),
  };
}
