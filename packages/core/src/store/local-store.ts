import { hostname } from "node:os";
import { type Journal, StoreWarnings } from "../reporting/journal.ts";

export interface HostFacts {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly hostname: string;
}

/** Variables of platforms that start more instances of a program, on demand or during a deployment. */
const PLATFORMS: Readonly<Record<string, string>> = {
  KUBERNETES_SERVICE_HOST: "Kubernetes",
  ECS_CONTAINER_METADATA_URI_V4: "Amazon ECS",
  AWS_LAMBDA_FUNCTION_NAME: "AWS Lambda",
  K_SERVICE: "Cloud Run",
  CLOUD_RUN_JOB: "Cloud Run",
  CONTAINER_APP_NAME: "Azure Container Apps",
  FUNCTIONS_WORKER_RUNTIME: "Azure Functions",
  DYNO: "Heroku",
  FLY_MACHINE_ID: "Fly.io",
};
/** Docker names a container by the first twelve digits of its id. */
const CONTAINER_HOSTNAME = /^[0-9a-f]{12}$/;
/** The host name of a pod of a Deployment: `<name>-<hash>-<random>`, with the letters and digits that Kubernetes uses. */
const POD_HOSTNAME = /-[bcdfghjklmnpqrstvwxz2456789]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}$/;

/** The warnings of a store that no other host reaches: one to each logger of a process in a container. */
export class LocalStoreWarnings extends StoreWarnings {
  readonly #subject: string;

  /** @param subject the store, for the message: "A memory store", say. */
  constructor(subject: string) {
    super();
    this.#subject = subject;
  }

  override join(journal: Journal): void {
    super.join(journal);
    const message = localStoreWarning(this.#subject);
    if (message !== undefined) this.warnOnce("LEASEHOLD_LOCAL_STORE", this.#subject, message);
  }
}

/** Returns a warning if this process seems to be one of several instances, which the store does not reach. Tests get none. */
export function localStoreWarning(
  subject: string,
  { env, hostname: host }: HostFacts = { env: process.env, hostname: hostname() },
): string | undefined {
  const evidence = instanceEvidence(env, host);
  if (evidence === undefined) return undefined;
  return (
    `${subject} is not shared between containers, and this process seems to run in one (${evidence}). ` +
    "Each container elects a leader of its own. Use a store that all of them reach, such as a database or cloud storage."
  );
}

function instanceEvidence(env: HostFacts["env"], host: string): string | undefined {
  if (env["NODE_ENV"] === "test" || env["NODE_TEST_CONTEXT"] !== undefined) return undefined;
  for (const [name, platform] of Object.entries(PLATFORMS)) if (env[name]) return `${name} is set, as on ${platform}`;
  if (CONTAINER_HOSTNAME.test(host)) return `the host is named '${host}', as Docker names containers`;
  const isPod = env["NODE_ENV"] === "production" && POD_HOSTNAME.test(host);
  return isPod ? `the host is named '${host}', as pods are, and NODE_ENV is production` : undefined;
}
