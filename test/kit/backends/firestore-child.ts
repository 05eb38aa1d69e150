/** Our own Firestore server, for the process that `startFirestore` starts. Its clock is `Date`, and so the movable one. */
import { startFirestoreServer } from "../firestore-server/index.ts";

export async function serve(): Promise<string> {
  const { url } = await startFirestoreServer();
  return `http://${url}`;
}
