/** Runs `work` again and again, `everyMs` after its last end, never twice at once. What it throws goes to `onError`. */
export function startRepeating(
  everyMs: number,
  work: () => Promise<unknown>,
  onError: (error: unknown) => void,
): { close(): Promise<void> } {
  let isClosed = false;
  let running = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const scheduleNext = (): void => {
    if (isClosed) return;
    timer = setTimeout(() => {
      running = work()
        .then(() => undefined, onError)
        .then(scheduleNext);
    }, everyMs);
  };
  scheduleNext();
  return {
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
