/** Our own API server, for the process that `kubernetes` in `../stores/kubernetes.ts` starts. */
import { startKubernetes } from "./kubernetes.ts";

export async function serve(): Promise<string> {
  const { url } = await startKubernetes();
  return url;
}
