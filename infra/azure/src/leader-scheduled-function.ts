import { Token } from "cdktn";
import { Construct } from "constructs";
import { CLOSED_ACCOUNT } from "./closed-account.ts";
import { FunctionApp, RoleAssignment, ServicePlan, StorageAccount, StorageContainer, UserAssignedIdentity } from "./azurerm.ts";
import { candidateEnvironment } from "./candidate-environment.ts";
import type { LeaseContainer, ResourceGroupReference } from "./lease-container.ts";

export interface LeaderScheduledFunctionProps {
  /** Where the leases are. */
  readonly leases: LeaseContainer;
  /** The elections that gate its functions. */
  readonly elections: readonly string[];
  readonly resourceGroup: ResourceGroupReference;
  /** Of the app: 2 to 32 letters, digits and hyphens, unlike any other's in the world. */
  readonly name: string;
  /**
   * A storage account for the platform itself, where the code and the timer's state are: 3 to 24 lower-case letters and
   * digits. The platform may delete there, so it cannot be the leases'.
   */
  readonly hostAccountName: string;
  /** When: six fields, seconds first, as in `0 0 3 * * *`. The code has it as `schedule: "%LEADER_SCHEDULE%"`. */
  readonly schedule: string;
  /**
   * How long an invocation may take; `onlyAsLeader` reads it too.
   * @default 300_000
   */
  readonly timeoutMs?: number;
  /**
   * A zip with the code.
   * @default - it is published apart, with `func azure functionapp publish <name>`
   */
  readonly zipFile?: string;
  /** Of Node.js. @default "22" */
  readonly runtimeVersion?: string;
  /** @default - what `onlyAsLeader` and the store need alone */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Below a day, as the setting's form has it. */
const MAX_TIMEOUT_MS = 86_399_000;

/**
 * A Function App (Flex Consumption) for timers that are gated by `onlyAsLeader` of @leasehold/functions/azure-functions, with
 * an identity of its own. One app fires a timer once by itself; make one in each of two regions, for one election.
 */
export class LeaderScheduledFunction extends Construct {
  readonly identity: UserAssignedIdentity;
  readonly app: FunctionApp;

  /** @throws {Error} for a schedule or timeout that Functions would refuse, and for the leases' own account as host's. */
  constructor(scope: Construct, id: string, props: LeaderScheduledFunctionProps) {
    super(scope, id);
    const { leases, elections, resourceGroup, name, hostAccountName, schedule, timeoutMs = 300_000 } = props;
    checkSchedule(schedule);
    checkHostAccount(hostAccountName, leases);
    const place = { resource_group_name: resourceGroup.name, location: resourceGroup.location };

    this.identity = new UserAssignedIdentity(this, "Identity", { ...place, name });
    const candidate = leases.grantCandidate(this.identity, ...elections);
    const { account, code, owner } = this.#host(place, hostAccountName);
    const plan = new ServicePlan(this, "Plan", { ...place, name, os_type: "Linux", sku_name: "FC1" });
    this.app = new FunctionApp(
      this,
      "App",
      {
        ...place,
        name,
        service_plan_id: plan.id,
        storage_container_type: "blobContainer",
        storage_container_endpoint: `${account.primaryBlobEndpoint}${code}`,
        storage_authentication_type: "UserAssignedIdentity",
        storage_user_assigned_identity_id: this.identity.id,
        runtime_name: "node",
        runtime_version: props.runtimeVersion ?? "22",
        maximum_instance_count: 40,
        instance_memory_in_mb: 2_048,
        https_only: true,
        ...(props.zipFile === undefined ? {} : { zip_deploy_file: props.zipFile }),
        app_settings: {
          AzureWebJobsStorage__accountName: account.name,
          AzureWebJobsStorage__credential: "managedidentity",
          AzureWebJobsStorage__clientId: this.identity.clientId,
          AzureFunctionsJobHost__functionTimeout: timeSpan(timeoutMs),
          LEADER_SCHEDULE: schedule,
          ...candidateEnvironment(leases, this.identity),
          ...props.environment,
        },
        identity: { type: "UserAssigned", identity_ids: [this.identity.id] },
        site_config: {},
      },
      { dependsOn: [candidate, owner] },
    );
  }

  #host(
    place: { resource_group_name: string; location: string },
    name: string,
  ): { account: StorageAccount; code: string; owner: RoleAssignment } {
    const code = "code";
    const account = new StorageAccount(this, "HostAccount", {
      ...place,
      name,
      ...CLOSED_ACCOUNT,
      account_replication_type: "LRS",
    });
    new StorageContainer(this, "HostContainer", { name: code, storage_account_id: account.id, container_access_type: "private" });
    // https://learn.microsoft.com/azure/azure-functions/functions-reference#connecting-to-host-storage-with-an-identity
    const owner = new RoleAssignment(this, "HostOwner", {
      scope: account.id,
      principal_id: this.identity.principalId,
      principal_type: "ServicePrincipal",
      role_definition_name: "Storage Blob Data Owner",
    });
    return { account, code, owner };
  }
}

function checkSchedule(schedule: string): void {
  if (Token.isUnresolved(schedule) || /^\S+( \S+){5}$/.test(schedule)) return;
  throw new Error(`schedule is ${JSON.stringify(schedule)}; it must have six fields, seconds first, as in "0 0 3 * * *".`);
}

function checkHostAccount(name: string, leases: LeaseContainer): void {
  if (name === leases.accountName) {
    throw new Error(
      `hostAccountName is ${JSON.stringify(name)}, which is the leases' account. The platform's own role may delete there, and a ` +
        "lease blob that is deleted begins again at term 1. Name another account.",
    );
  }
  if (!Token.isUnresolved(name) && !/^[a-z0-9]{3,24}$/.test(name)) {
    throw new Error(`hostAccountName is ${JSON.stringify(name)}; it must have 3 to 24 lower-case letters and digits.`);
  }
}

/** As `functionTimeout` has it: hh:mm:ss. */
function timeSpan(timeoutMs: number): string {
  if (Token.isUnresolved(timeoutMs)) throw new Error("timeoutMs is not known when this is synthesized; it must be.");
  if (!Number.isInteger(timeoutMs / 1_000) || timeoutMs < 1_000 || timeoutMs > MAX_TIMEOUT_MS) {
    throw new Error(`timeoutMs is ${timeoutMs}; it must be whole seconds, from 1_000 to ${MAX_TIMEOUT_MS}.`);
  }
  const seconds = timeoutMs / 1_000;
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}
