import { unavailable } from '../domain/errors.js';

/**
 * True when an error says that Postgres cannot be reached or lets nobody in at the moment, and nothing about the request:
 * the same request may succeed later. The driver gives some of these no code.
 */
export function isDatabaseAway(error: unknown): boolean {
  // By its fields: an error of the driver may come from another realm (jest runs files in realms of their own).
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return (typeof code === 'string' && CODES.test(code)) || (typeof message === 'string' && MESSAGES.test(message));
}

// Node's; SQLSTATE classes 08 (connection) and 57P0x (shutting down, starting), 53300 (too many connections), 25P03 (not
// heard of for too long in a transaction); Prisma's.
const CODES =
  /^(ECONN(REFUSED|RESET)|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE|08...|57P0[1-3]|53300|25P03|P1001|P1002|P1017)$/;
const MESSAGES =
  /^(timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error)/;

/** For `.catch`: an authority that is away becomes an error that a client may read; everything else stays as it is. */
export function throwAsAway(error: unknown): never {
  if (isDatabaseAway(error)) throw unavailable('The service cannot be reached at the moment.', error);
  throw error;
}
