/** Warnings and errors only: the test report is the output. */
export const harnessLog = {
  info: () => undefined,
  warn: (message: string) => console.warn(message),
  error: (message: string) => console.error(message),
};
