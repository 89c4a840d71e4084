/** What this room asks of a logger; pino fits, and so does console. */
export type Log = {
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
};
