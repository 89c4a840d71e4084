// Loaded into the service by `node --import`: a killed `npm start` must not leave the service running.
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
// The channel alone is no reason to stay.
process.channel?.unref();
