import { access, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { startDaemon } from "./daemon.ts";
import type { Daemon } from "./daemon.ts";
import { findProgram } from "./find-program.ts";

/** Google's own Firestore emulator, with its data in memory. */
export interface OfficialFirestore extends Daemon {
  /** `127.0.0.1:<port>`: a client's `host`, with `ssl: false`. */
  readonly host: string;
}

/** Why the emulator cannot be started on this machine; `undefined` if it can. */
export async function officialFirestoreMissing(): Promise<string | undefined> {
  const found = await findInstallation();
  return "missing" in found ? found.missing : undefined;
}

/**
 * Starts the emulator of the Google Cloud CLI, on 127.0.0.1. It takes a second or two. Its transactions are pessimistic, as those
 * of the service: they wait for each other, and other writes wait for them.
 * @throws an error with its output, if it is not installed, ends, or takes too long before it serves.
 */
export async function startOfficialFirestore(): Promise<OfficialFirestore> {
  const found = await findInstallation();
  if ("missing" in found) throw new Error(found.missing);
  const daemon = await startDaemon("The official Firestore emulator", {
    directory: "firestore",
    serve: [
      // The emulator prints on stdout that it serves; this moves it to stderr.
      ...(["/bin/sh", "-c", 'exec "$0" "$@" >&2', found.java] as const),
      // With these options it starts faster, and uses less memory.
      ...["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-Duser.language=en"],
      // The jar names no main class.
      ...["-cp", found.jar, "com.google.cloud.datastore.emulator.firestore.CloudFirestore", "start"],
      // The second port is unused. Without this option all emulators would have the same one.
      ...["--host=127.0.0.1", "--port={port}", "--websocket_port=0"],
    ],
    ready: "Dev App Server is now running",
    endWith: "SIGKILL",
  });
  return Object.assign(daemon, { host: `127.0.0.1:${daemon.port}` });
}

async function findInstallation(): Promise<{ readonly java: string; readonly jar: string } | { readonly missing: string }> {
  const [java, gcloud] = await Promise.all([findProgram("java"), findProgram("gcloud")]);
  if (java === undefined) return { missing: "There is no java for the official Firestore emulator." };
  if (gcloud === undefined) return { missing: "There is no gcloud, which the official Firestore emulator comes with." };
  // The program on the PATH is a link to the script in the installation. To ask it for that folder takes a second.
  const root = dirname(dirname(await realpath(gcloud)));
  const jar = join(root, "platform/cloud-firestore-emulator/cloud-firestore-emulator.jar");
  return await access(jar).then(
    () => ({ java, jar }),
    () => ({ missing: `The official Firestore emulator is not installed: there is no ${jar}.` }),
  );
}
