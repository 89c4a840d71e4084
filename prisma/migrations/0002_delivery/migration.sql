-- When a delivery last moved (planned, delivered, retried) or was last looked at by the sweep.
ALTER TABLE "fanouts" ADD COLUMN "touched_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP;

-- Who does a work of maintenance, until when, and how far it has come. Whoever dies is followed when the time is over.
CREATE TABLE "maintenance_leases" (
    "name" TEXT NOT NULL,
    "holder" TEXT NOT NULL DEFAULT '',
    "expires_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "position" TEXT NOT NULL DEFAULT '',
    CONSTRAINT "maintenance_leases_pkey" PRIMARY KEY ("name")
);
