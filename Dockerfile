# One image for every process: the command chooses which (`npm run start:gateway|start:timeline|start:social|start:worker`
# and `npm run migrate` run the same commands). Node is started directly, so that it receives SIGTERM itself.
FROM node:22-bookworm-slim AS deps
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund

FROM deps AS build
COPY . .
RUN npm run build

FROM node:22-bookworm-slim AS production-deps
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund

FROM node:22-bookworm-slim AS runtime
ENV NODE_ENV=production HOST=0.0.0.0 APOLLO_TELEMETRY_DISABLED=1
WORKDIR /app
COPY --from=production-deps /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json ./
COPY schema ./schema
COPY prisma ./prisma
COPY scripts/healthcheck.mjs ./scripts/
USER node
EXPOSE 4000 4001 4002 4003
# The gateway's port; docker-compose.yml names the port of the others.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["node", "scripts/healthcheck.mjs"]
CMD ["node", "--enable-source-maps", "dist/workers/gateway.js"]
