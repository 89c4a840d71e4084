/** The handle and display name of a user whom nobody has named yet. */
export const defaultHandle = (userId: bigint): string => `user_${userId.toString()}`;
