-- A follower count is users.follower_count (what imports counted) plus the shards: a follow adds to a shard that nobody
-- else is writing to, so that thousands may follow one account at once. Shards may be negative, the sum is not.
CREATE TABLE "follower_count_shards" (
    "user_id" NUMERIC(20,0) NOT NULL,
    "shard" INTEGER NOT NULL,
    "followers" INTEGER NOT NULL,
    CONSTRAINT "follower_count_shards_pkey" PRIMARY KEY ("user_id", "shard"),
    CONSTRAINT "follower_count_shards_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE NO ACTION
) WITH (fillfactor = 50);

-- A deleted account keeps its row, emptied, so that its id stays taken. From deleted_at on nobody sees anything of it.
ALTER TABLE "users" ADD COLUMN "deleted_at" TIMESTAMPTZ(3);

-- One row a deleted account: how far the removal of what it left has come.
CREATE TABLE "account_removals" (
    "user_id" NUMERIC(20,0) NOT NULL,
    "step" TEXT NOT NULL,
    "requested_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),
    CONSTRAINT "account_removals_pkey" PRIMARY KEY ("user_id"),
    CONSTRAINT "account_removals_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE NO ACTION
);
CREATE INDEX "account_removals_waiting_idx" ON "account_removals"("requested_at") WHERE "finished_at" IS NULL;

-- All that one user reacted to.
CREATE INDEX "reactions_user_id_idx" ON "reactions"("user_id");

-- What was deleted is emptied from now on; so is what was deleted before.
UPDATE "contents" SET "text" = '', "media" = '[]' WHERE "deleted_at" IS NOT NULL;
UPDATE "comments" SET "text" = '' WHERE "deleted_at" IS NOT NULL;
