/**
 * True when an error says that Redis cannot be reached or cannot take writes at the moment (it starts, fails over, is
 * full), and nothing about the command: the same command may succeed later.
 */
export function isRedisAway(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return (typeof code === 'string' && CODES.test(code)) || (typeof message === 'string' && MESSAGES.test(message));
}

const CODES = /^(ECONN(REFUSED|RESET)|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE)$/;
// The client's own, then those of the server.
const MESSAGES =
  /^(Connection is closed|Stream isn't writeable|Reached the max retries per request|Command timed out|Socket closed unexpectedly|(LOADING|READONLY|MASTERDOWN|NOREPLICAS|CLUSTERDOWN|TRYAGAIN|UNBLOCKED|OOM|MISCONF) )/;
