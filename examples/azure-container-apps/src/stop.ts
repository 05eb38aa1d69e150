const stop = new AbortController();
for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, () => stop.abort(new Error(`${name}: stopping`)));

/** Aborts when the replica has to stop. */
export const stopping: AbortSignal = stop.signal;
