/**
 * Our own Firestore server, for the process that `startFirestore` starts. Its clock is `Date`, which is the movable one here. Its
 * databases are in its address.
 */
import { startFirestoreServer } from "../firestore-server/index.ts";

export async function serve(): Promise<string> {
  const databases = new URL(import.meta.url).searchParams.getAll("database");
  const { url } = await startFirestoreServer({ databases });
  return `http://${url}`;
}
