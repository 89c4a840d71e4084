import type { Allowance } from '../domain/token-bucket.js';

/** What the server hands to the runtime with a request, and gets back through it. */
export interface RequestFacts {
  /** Whose bucket pays: the viewer's, or that of an address. */
  readonly payer: string;
  /** Aborted when nobody waits for the answer any longer. */
  readonly cancel: AbortSignal;
  /** The client wants to see what the operation costs. */
  readonly wantsCost: boolean;
  cost?: number;
  allowance?: Allowance;
  /** The operation's text, to be kept under its hash once it has passed. */
  sent?: { readonly hash: string; readonly text: string };
}

/** Under this key in the context of plugins and of the transport. */
export const FACTS = 'tidelineFacts';

export const factsOf = (context: unknown): RequestFacts | undefined =>
  (context as { readonly [FACTS]?: RequestFacts })[FACTS];
