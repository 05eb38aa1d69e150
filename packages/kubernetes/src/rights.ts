import type { ApiTransport, Json } from "./transport.ts";

/** The verbs that a candidate uses, and what fails without each. */
const VERBS = {
  create: "no candidate can begin an election whose Lease does not exist yet",
  patch: "no candidate can acquire or renew",
  watch: "standbys see a release only when they poll",
} as const;

/**
 * Asks the server for the rights that a candidate needs. Returns a sentence for each missing right. Returns none for a right if
 * the server does not answer, because the account may not ask.
 * https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access
 */
export async function missingRights(
  transport: ApiTransport,
  { namespace, election }: { readonly namespace: string; readonly election: string },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const answers = await Promise.all(
    Object.entries(VERBS).map(async ([verb, consequence]) => {
      // A Role cannot limit `create` to a name.
      const name = verb === "create" ? {} : { name: election };
      const resourceAttributes = { namespace, verb, group: "coordination.k8s.io", resource: "leases", ...name };
      const isAllowed = await mayDo(transport, resourceAttributes, signal);
      return isAllowed ? [] : [`The account may not ${verb} leases in ${namespace}: ${consequence}. The README has the Role.`];
    }),
  );
  return answers.flat();
}

async function mayDo(transport: ApiTransport, resourceAttributes: Json, signal: AbortSignal): Promise<boolean> {
  const body = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    spec: { resourceAttributes },
  };
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  try {
    const { status } = await transport.call({ method: "POST", path, body }, signal);
    return (status as { readonly allowed?: unknown } | undefined)?.allowed !== false;
  } catch {
    return true;
  }
}
