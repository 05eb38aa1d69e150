import { Token } from "cdktn";
import type { Construct } from "constructs";
import { ProviderResource } from "../../terraform.ts";

/** A service account. */
export interface ServiceAccount {
  readonly email: string;
  /** The name in policies: `serviceAccount:<email>`. */
  readonly member: string;
}

export interface OwnAccountProps {
  readonly project: string;
  /** 6 to 30 characters, unique in the project. */
  readonly accountId: string;
  readonly displayName: string;
}

/**
 * Makes a service account for one construct only.
 * @throws {Error} if another construct of the app makes an account of the same id in the same project. The id is unique in a
 * project, in all regions. Two constructs of one name, one in each region, need an `accountId` each.
 */
export function ownAccount(scope: Construct, id: string, { project, accountId, displayName }: OwnAccountProps): ServiceAccount {
  const key = `${project}/${accountId}`;
  const { root } = scope.node;
  const accounts = ACCOUNTS.get(root) ?? new Map<string, string>();
  ACCOUNTS.set(root, accounts);
  const other = accounts.get(key);
  if (other !== undefined) {
    throw new Error(
      `${scope.node.path} and ${other} would both make the service account ${JSON.stringify(accountId)}, which a project can have ` +
        "once, whatever the region. Give one of them another accountId; the name may stay the same, and has to for oncePerTick.",
    );
  }
  accounts.set(key, scope.node.path);
  const account = new ProviderResource(scope, id, "google_service_account", {
    project,
    account_id: accountId,
    display_name: displayName,
  });
  return { email: account.attribute("email"), member: account.attribute("member") };
}

/** The accounts of each app, with the construct that has made each. */
const ACCOUNTS = new WeakMap<object, Map<string, string>>();

/** @throws {Error} for an invalid id of a service account. `most` is the number of characters that are left of 30. */
export function checkAccountId(accountId: string, most: number): void {
  if (Token.isUnresolved(accountId) || (isName(accountId) && accountId.length >= 6 && accountId.length <= most)) return;
  throw new Error(
    `accountId is ${JSON.stringify(accountId)}; it must have 6 to ${most} lower-case letters, digits and hyphens, begin with a letter, ` +
      "and not end with a hyphen. By default it is the name.",
  );
}

/** @throws {Error} for a name that Cloud Run does not accept: it must have 1 to 49 characters. */
export function checkServiceName(name: string): void {
  if (Token.isUnresolved(name) || (isName(name) && name.length <= 49)) return;
  throw new Error(
    `name is ${JSON.stringify(name)}; it must have 1 to 49 lower-case letters, digits and hyphens, begin with a letter, and not end ` +
      "with a hyphen.",
  );
}

function isName(name: string): boolean {
  return /^[a-z]([a-z0-9-]*[a-z0-9])?$/.test(name);
}
