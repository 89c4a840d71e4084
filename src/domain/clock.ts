/** Epoch milliseconds. The only thing that tests fake. */
export type Clock = () => number;
