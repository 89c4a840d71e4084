/** Who asks, as the verified token says. */
export interface Viewer {
  readonly userId: bigint;
  readonly isAdmin: boolean;
}
