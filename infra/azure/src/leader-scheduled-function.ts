import { Token } from "cdktn";
import { Construct } from "constructs";
import { ownIdentity, type ManagedIdentity } from "./access.ts";
import { candidateVariables } from "./candidate-variables.ts";
import { hostAccount, telemetry } from "./function-platform.ts";
import { timingSettings } from "./function-timing.ts";
import type { LeaseContainer, ResourceGroupReference } from "./lease-container.ts";
import { doneByFunctionQuery } from "./log-lines.ts";
import type { ScheduledRuns } from "./run-alerts.ts";
import { environmentBlocks, ProviderResource } from "../../terraform.ts";

export interface LeaderScheduledFunctionProps {
  /** The container of leases. */
  readonly leases: LeaseContainer;
  /** The elections of its functions. The program finds the first in `ELECTION`. */
  readonly elections: readonly string[];
  readonly resourceGroup: ResourceGroupReference;
  /** The app's name: 2 to 32 letters, digits and hyphens, unique in the world. Related resources are called `<name>-...`. */
  readonly name: string;
  /**
   * A storage account for the platform itself, with the code and the timer's state: 3 to 24 lower-case letters and digits. The
   * platform may delete there, so it must not be the leases' account.
   */
  readonly hostAccountName: string;
  /** The schedule in UTC: six fields, seconds first, as in `0 0 3 * * *`. The code uses it by `schedule: "%LEADER_SCHEDULE%"`. */
  readonly schedule: string;
  /**
   * The longest time of an invocation. `onlyAsLeader` reads it too.
   * @default 300_000
   */
  readonly timeoutMs?: number;
  /** The version of Node.js. @default "22" */
  readonly runtimeVersion?: string;
  /** Further settings for your code. @default - only those that `onlyAsLeader` and the store need */
  readonly environment?: Readonly<Record<string, string>>;
  /** The id of a workspace of Log Analytics, for its telemetry. */
  readonly workspaceId: string;
}

/**
 * A Function App (Flex Consumption) for timers that use `onlyAsLeader` of @leasehold/functions/azure-functions. It has an
 * identity of its own. One app by itself fires a timer once; make one in each of two regions, for one election. Its code is
 * published separately: `func azure functionapp publish <name> --node`.
 *
 * It uses azapi, because azurerm 4.73 writes a connection string without a key into `AzureWebJobsStorage`. The platform prefers
 * this string to the identity, so the app never starts (hashicorp/terraform-provider-azurerm#29149, #29693, #30732).
 */
export class LeaderScheduledFunction extends Construct {
  readonly identity: ManagedIdentity;
  readonly app: ProviderResource;
  /**
   * The queries for alerts, over the functions' lines in Application Insights about the first election, and over failed
   * invocations.
   */
  readonly runs: ScheduledRuns;

  /** @throws {Error} for a name, schedule or timeout that Functions would refuse, and for the leases' account as the host's. */
  constructor(scope: Construct, id: string, props: LeaderScheduledFunctionProps) {
    super(scope, id);
    const { leases, elections, resourceGroup, name, hostAccountName, schedule, timeoutMs = 300_000 } = props;
    checkName(name);
    checkSchedule(schedule);
    checkHostAccount(hostAccountName, leases);
    const timing = timingSettings(timeoutMs);
    const identity = ownIdentity(this, name, resourceGroup);
    this.identity = identity;
    const candidate = leases.grantCandidate(identity, ...elections);
    const host = hostAccount(this, hostAccountName, resourceGroup, identity);
    const insights = telemetry(this, name, resourceGroup, identity, props.workspaceId);
    const [election = ""] = elections;
    this.runs = {
      workspaceId: props.workspaceId,
      doneQuery: doneByFunctionQuery(name, election),
      // AppRequests has a row for each invocation, even for one that died without output.
      // https://learn.microsoft.com/azure/azure-monitor/reference/tables/apprequests
      failedQuery: `AppRequests\n| where AppRoleName =~ "${name}" and Success == false`,
    };
    const settings = {
      ...host.settings,
      ...insights.settings,
      ...timing,
      LEADER_SCHEDULE: schedule,
      ...candidateVariables(leases, identity, elections),
    };
    const plan = new ProviderResource(this, "Plan", "azurerm_service_plan", {
      name: `${name}-plan`,
      resource_group_name: resourceGroup.name,
      location: resourceGroup.location,
      os_type: "Linux",
      sku_name: "FC1",
    });
    this.app = new ProviderResource(
      this,
      "App",
      "azapi_resource",
      {
        type: "Microsoft.Web/sites@2023-12-01",
        name,
        parent_id: resourceGroup.id,
        location: resourceGroup.location,
        identity: { type: "UserAssigned", identity_ids: [identity.id] },
        body: {
          kind: "functionapp,linux",
          properties: {
            serverFarmId: plan.id,
            httpsOnly: true,
            functionAppConfig: {
              deployment: {
                storage: {
                  type: "blobContainer",
                  value: host.codeUrl,
                  authentication: { type: "UserAssignedIdentity", userAssignedIdentityResourceId: identity.id },
                },
              },
              scaleAndConcurrency: { maximumInstanceCount: 40, instanceMemoryMB: 2_048 },
              runtime: { name: "node", version: props.runtimeVersion ?? "22" },
            },
            // Azure removes a setting of the app that is not in this list.
            siteConfig: { appSettings: environmentBlocks(settings, props.environment) },
          },
        },
      },
      { dependsOn: [candidate, host.right, insights.right] },
    );
  }
}

/**
 * Azure cuts a longer name off at 32 characters:
 * https://learn.microsoft.com/azure/azure-functions/storage-considerations#host-id-considerations
 */
function checkName(name: string): void {
  if (Token.isUnresolved(name) || /^(?=.{2,32}$)[A-Za-z0-9]+(-+[A-Za-z0-9]+)*$/.test(name)) return;
  throw new Error(`name is ${JSON.stringify(name)}; it must have 2 to 32 letters, digits and hyphens, and no hyphen at an end.`);
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
