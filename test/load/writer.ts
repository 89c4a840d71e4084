import { setTimeout as pause } from 'node:timers/promises';
import { TidelineError } from '../../src/domain/errors.js';
import { createInboxStore, createOutboxProjections } from '../../src/wiring/feed.js';
import { runChild } from './crowd.js';
import { as, openSocial } from './open-social.js';

// A process that changes feeds in every way: see `weights`. Things belong to one writer each, which leaves them quiet
// for a while after each change (quietMs).

const report = {
  /** Steps that failed because a store was away. */
  outages: 0,
  published: 0,
  deleted: 0,
  hiddenOrShown: 0,
  followed: 0,
  unfollowed: 0,
  lapsed: 0,
  lostInboxes: 0,
  lostProjections: 0,
  refused: 0,
};
export type WriterReport = typeof report;

const PAUSE_MS = 40;
const VISIBILITIES = ['PUBLIC', 'FOLLOWERS', 'PRIVATE'] as const;
/** Contents that a writer remembers, to repost, hide or delete them. */
const REMEMBERED = 3_000;
const REFUSALS: readonly string[] = ['BAD_USER_INPUT', 'NOT_FOUND', 'FORBIDDEN'];
/** Seen last longer ago than ACTIVE_DAYS, and than DORMANT_DAYS. */
const LAPSES_MS = [8, 31].map((days) => days * 86_400_000);

await runChild(async (app, crowd, { quietMs }) => {
  const { pool } = app.database;
  const social = openSocial(app);
  const [inboxes, projections] = [createInboxStore(app), createOutboxProjections(app)];
  const mine: { contentId: bigint; authorId: bigint }[] = [];
  const changedAt = new Map<string, number>();

  const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(Math.random() * items.length)];
  function isQuiet(thing: string): boolean {
    const now = Date.now();
    if (now - (changedAt.get(thing) ?? 0) < 2 * quietMs) return false;
    changedAt.set(thing, now);
    return true;
  }
  function pickQuiet() {
    const content = pick(mine);
    return content && isQuiet(String(content.contentId)) ? content : undefined;
  }

  async function publish(repostOf?: bigint): Promise<void> {
    const authorId = crowd.drawOwn();
    const text = repostOf !== undefined && Math.random() < 0.5 ? '' : 'text';
    const visibility = Math.random() < 0.1 ? pick(VISIBILITIES) : 'PUBLIC';
    const { contentId } = await social.publishContent(as(authorId), { text, visibility, repostOf });
    changedAt.set(String(contentId), Date.now());
    mine.push({ contentId, authorId });
    if (mine.length > REMEMBERED) mine.splice(0, REMEMBERED / 10);
    report.published += 1;
  }

  const weights: readonly (readonly [number, () => Promise<void>])[] = [
    [50, () => publish()],
    [10, () => publish(pick(mine)?.contentId)],
    [
      8,
      async () => {
        const content = pickQuiet();
        if (!content) return;
        await social.deleteContent(as(content.authorId), content.contentId);
        report.deleted += 1;
      },
    ],
    [
      8,
      async () => {
        const content = pickQuiet();
        if (!content) return;
        await social.setVisibility(as(content.authorId), content.contentId, pick(VISIBILITIES) ?? 'PUBLIC');
        report.hiddenOrShown += 1;
      },
    ],
    [
      12,
      async () => {
        const [follower, followee] = [crowd.drawOwn(), crowd.draw()];
        if (!isQuiet(`${follower}-${followee}`)) return;
        await social.setFollow(as(follower), followee, true);
        report.followed += 1;
      },
    ],
    [
      12,
      async () => {
        const follower = crowd.drawOwn();
        const { rows } = await pool.query<{ id: string }>(
          'SELECT followee_id AS id FROM follows WHERE follower_id = $1 ORDER BY random() LIMIT 1',
          [follower],
        );
        const followee = rows[0]?.id;
        if (followee === undefined || !isQuiet(`${follower}-${followee}`)) return;
        await social.setFollow(as(follower), BigInt(followee), false);
        report.unfollowed += 1;
      },
    ],
    [
      2,
      async () => {
        await pool.query('UPDATE activity SET last_active_at = last_active_at - $2 WHERE user_id = $1', [
          crowd.draw(),
          pick(LAPSES_MS),
        ]);
        report.lapsed += 1;
      },
    ],
    [
      2,
      async () => {
        await inboxes.drop([crowd.draw()]);
        report.lostInboxes += 1;
      },
    ],
    [
      0.5,
      async () => {
        await projections.drop([crowd.draw()]);
        report.lostProjections += 1;
      },
    ],
  ];
  const total = weights.reduce((sum, [weight]) => sum + weight, 0);

  return async () => {
    let at = Math.random() * total;
    const [, act] = weights.find(([weight]) => (at -= weight) < 0) ?? weights[0]!;
    try {
      await act();
    } catch (error) {
      // Following oneself, reposting what is gone.
      if (!(error instanceof TidelineError) || !REFUSALS.includes(error.code)) throw error;
      report.refused += 1;
    }
    // In bursts, so that a backlog comes and goes.
    await pause(Math.floor(Date.now() / 4_000) % 2 === 0 ? PAUSE_MS * 2 * Math.random() : 1);
  };
}, report);
