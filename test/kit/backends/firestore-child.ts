/** Our own Firestore server, for the process that `startFirestore` starts. Its clock is `Date`, and so the movable one. */
import { startFirestoreServer } from "../firestore-server/index.ts";

/** Serves on the port that is the first argument; 0 is a free one. */
export async function serve([port]: readonly string[]): Promise<string> {
  const { url } = await startFirestoreServer({ port: Number(port) });
  return `http://${url}`;
}
