import { pino, type Logger } from 'pino';

export type { Logger } from 'pino';

/** Structured logs: one JSON line each, with request and content ids as fields. Tokens and passwords are not logged. */
export const createLogger = (level: string, name: string): Logger =>
  pino({ level, name, redact: ['token', 'authorization', 'headers.authorization', 'password'] });
