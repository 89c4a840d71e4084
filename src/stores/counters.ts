import { defineStatement, type Queryable } from './database.js';

export type CounterName = 'likes' | 'comments' | 'reposts' | 'favorites';

/** Moves a counter together with the row that it counts, in that row's transaction; never below 0. */
export async function addToCounter(db: Queryable, contentId: bigint, counter: CounterName, by: 1 | -1): Promise<void> {
  await statements[counter](db, [contentId, by]);
}

const addStatement = (counter: CounterName) =>
  defineStatement(
    `counters_add_${counter}`,
    `INSERT INTO content_counters AS c (content_id, ${counter}) VALUES ($1, greatest(0, $2::int))
     ON CONFLICT (content_id) DO UPDATE SET ${counter} = greatest(0, c.${counter} + $2::int)`,
  );

const statements = {
  likes: addStatement('likes'),
  comments: addStatement('comments'),
  reposts: addStatement('reposts'),
  favorites: addStatement('favorites'),
};
