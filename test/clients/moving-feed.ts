import { content, follow, startStack, user, type Stack } from '../harness/stack.js';

const PUBLISH = 'mutation { publishContent(input: { text: "new" }) { content { contentId } } }';
const DELETE = 'mutation ($id: ID!) { deleteContent(input: { contentId: $id }) { contentId } }';

/** A feed that moves while clients walk it: the viewer is user 1, user 2's old posts stand still, user 3's are deleted. */
export interface MovingFeed {
  readonly stack: Stack;
  readonly token: string;
  /** Posts that stand still, newest first. */
  readonly standing: readonly string[];
  /** Publishes one more on top. */
  publish(): Promise<string>;
  /** Publishes one on top and deletes one further down. */
  disturb(pageSize: number): Promise<void>;
}

/** So many posts stand still, and as many between them go away. */
const POSTS = 28;
const START_MS = Date.UTC(2024, 0, 1);

export async function startMovingFeed(): Promise<MovingFeed> {
  const stack = await startStack({ LIVE_INTERVAL_MS: '10' });
  const doomed: string[] = [];
  const standing: string[] = [];
  const lines = [user('1'), user('2'), user('3'), follow('1', '2'), follow('1', '3')];
  for (let i = POSTS; i > 0; i -= 1) {
    const [stays, goes] = [String(2 * i + 1), String(2 * i)];
    standing.push(stays);
    doomed.push(goes);
    lines.push(content(stays, '2', START_MS + i * 1_000), content(goes, '3', START_MS + i * 1_000));
  }
  await stack.importAll(lines);
  const publish = async (): Promise<string> => (await stack.ask('2', PUBLISH)).publishContent.content.contentId;
  let step = 0;
  return {
    stack,
    token: await stack.tokenFor('1'),
    standing,
    publish,
    async disturb(pageSize) {
      step += 1;
      // Of pages with one post each, every third one is enough.
      if (pageSize === 1 && step % 3 !== 0) return;
      await publish();
      // Here and there, so that some are deleted before they are read and some after.
      const id = doomed[(step * 17) % doomed.length];
      if (id !== undefined) await stack.ask('3', DELETE, { id });
    },
  };
}
