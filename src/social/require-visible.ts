import { notFound } from '../domain/errors.js';
import type { Viewer } from '../domain/viewer.js';
import { readVisibleContents } from '../stores/contents.js';
import type { Queryable } from '../stores/database.js';

/** @throws TidelineError NOT_FOUND when the viewer may not see the content, as if it did not exist. */
export async function requireVisible(db: Queryable, viewer: Viewer, contentId: bigint, nowMs: number): Promise<void> {
  const visible = await readVisibleContents(db, [contentId], viewer.userId, nowMs);
  if (!visible.has(contentId)) throw notFound('There is no such content.');
}
