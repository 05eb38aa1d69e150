import { Firestore } from "@google-cloud/firestore";
import { startFirestoreServer } from "../../firestore-server/index.ts";
import { officialFirestoreMissing, startOfficialFirestore } from "../../backends/official-firestore.ts";

// Else the client looks for a metadata server first, and warns that there is none.
process.env["METADATA_SERVER_DETECTION"] = "none";

/** A server that a test can ask. */
export interface RunningServer extends AsyncDisposable {
  readonly host: string;
}

const own = {
  name: "our server",
  isOfficial: false,
  start: async (): Promise<RunningServer> => {
    const server = await startFirestoreServer();
    return { host: server.url, [Symbol.asyncDispose]: () => server.stop() };
  },
};

const official = {
  name: "the official emulator",
  isOfficial: true,
  start: startOfficialFirestore as () => Promise<RunningServer>,
};

/** Every server does this alike: ours, and the official emulator where it is installed. */
export const servers: readonly (typeof own)[] = (await officialFirestoreMissing()) === undefined ? [own, official] : [own];

/** A client of the server at `host`. Terminate it: it holds a socket. */
export function clientOf(host: string, settings: FirebaseFirestore.Settings = {}): Firestore {
  // Without this the client sends every read that fails twice more, whatever the error, which takes it seven seconds.
  return new Firestore({ projectId: "demo-x", host, ssl: false, gaxServerStreamingRetries: true, ...settings });
}

/** The gRPC status code that `request` fails with, or 0. */
export async function codeOf(request: Promise<unknown>): Promise<unknown> {
  return await request.then(
    () => 0,
    (error: unknown) => (error as { readonly code?: unknown }).code ?? error,
  );
}
