/** The object server, for the process that `startObjects` starts. Its protocol is in its address. */
import { startObjectServer, type Protocol } from "../object-server/server.ts";

export async function serve(): Promise<string> {
  const protocol = new URL(import.meta.url).searchParams.get("protocol") as Protocol;
  const { url } = await startObjectServer({ protocol });
  return url;
}
