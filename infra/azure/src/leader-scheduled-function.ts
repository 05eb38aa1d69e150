import { environmentBlocks } from "@leasehold/infra-terrain";
import { Token } from "cdktn";
import { Construct } from "constructs";
import { WebSite } from "./azapi.ts";
import { UserAssignedIdentity, type ManagedIdentity } from "./azurerm/access.ts";
import { ServicePlan } from "./azurerm/service-plan.ts";
import { candidateVariables, withOwnVariables } from "./candidate-variables.ts";
import { FunctionHost } from "./function-host.ts";
import { FunctionTelemetry } from "./function-telemetry.ts";
import { timingSettings } from "./function-timing.ts";
import type { LeaseContainer, ResourceGroupReference } from "./lease-container.ts";
import { doneByFunctionQuery } from "./log-lines.ts";
import type { ScheduledRuns } from "./scheduled-runs.ts";

export interface LeaderScheduledFunctionProps {
  /** Where the leases are. */
  readonly leases: LeaseContainer;
  /** The elections that gate its functions. The first is what `ELECTION` says. */
  readonly elections: readonly string[];
  readonly resourceGroup: ResourceGroupReference;
  /** Of the app: 2 to 32 letters, digits and hyphens, unlike any other's in the world. What is made around it is called `<name>-...`. */
  readonly name: string;
  /**
   * A storage account for the platform itself, where the code and the timer's state are: 3 to 24 lower-case letters and
   * digits. The platform may delete there, so it cannot be the leases'.
   */
  readonly hostAccountName: string;
  /** When, by UTC: six fields, seconds first, as in `0 0 3 * * *`. The code has it as `schedule: "%LEADER_SCHEDULE%"`. */
  readonly schedule: string;
  /**
   * How long an invocation may take; `onlyAsLeader` reads it too.
   * @default 300_000
   */
  readonly timeoutMs?: number;
  /** Of Node.js. @default "22" */
  readonly runtimeVersion?: string;
  /** Settings for your code. @default - what `onlyAsLeader` and the store need alone */
  readonly environment?: Readonly<Record<string, string>>;
  /** A workspace for its telemetry that there is already. @default - one is made */
  readonly workspaceId?: string;
}

/**
 * A Function App (Flex Consumption) for timers that are gated by `onlyAsLeader` of @leasehold/functions/azure-functions, with
 * an identity of its own. One app fires a timer once by itself; make one in each of two regions, for one election. Its code is
 * published apart: `func azure functionapp publish <name>`.
 *
 * It is made through azapi: azurerm 4.73 writes a connection string without a key into `AzureWebJobsStorage`, which wins over
 * the identity, so that the app never starts (hashicorp/terraform-provider-azurerm#29149, #29693, #30732).
 */
export class LeaderScheduledFunction extends Construct {
  readonly identity: ManagedIdentity;
  readonly app: WebSite;
  /** For alerts: what its functions have said to Application Insights of the first election, and which of them failed. */
  readonly runs: ScheduledRuns;

  /** @throws {Error} for a name, schedule or timeout that Functions would refuse, and for the leases' own account as host's. */
  constructor(scope: Construct, id: string, props: LeaderScheduledFunctionProps) {
    super(scope, id);
    const { leases, elections, resourceGroup, name, hostAccountName, schedule, timeoutMs = 300_000 } = props;
    checkName(name);
    checkSchedule(schedule);
    checkHostAccount(hostAccountName, leases);
    const timing = timingSettings(timeoutMs);
    const place = { resource_group_name: resourceGroup.name, location: resourceGroup.location };

    const identity = new UserAssignedIdentity(this, "Identity", { ...place, name: `${name}-identity` });
    this.identity = identity;
    const candidate = leases.grantCandidate(identity, ...elections);
    const host = new FunctionHost(this, "Host", { resourceGroup, accountName: hostAccountName, identity });
    const telemetry = new FunctionTelemetry(this, "Telemetry", {
      resourceGroup,
      name,
      identity,
      workspaceId: props.workspaceId,
    });
    const [election = ""] = elections;
    this.runs = {
      workspaceId: telemetry.workspaceId,
      doneQuery: doneByFunctionQuery(name, election),
      // Of each invocation, also of one that died without a word: https://learn.microsoft.com/azure/azure-monitor/reference/tables/apprequests
      failedQuery: `AppRequests\n| where AppRoleName =~ "${name}" and Success == false`,
    };
    const settings = {
      ...host.settings,
      ...telemetry.settings,
      ...timing,
      LEADER_SCHEDULE: schedule,
      ...candidateVariables(leases, identity, elections),
    };
    const plan = new ServicePlan(this, "Plan", { ...place, name: `${name}-plan`, os_type: "Linux", sku_name: "FC1" });
    this.app = new WebSite(
      this,
      "App",
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
            siteConfig: { appSettings: environmentBlocks(withOwnVariables(settings, props.environment)) },
          },
        },
      },
      { dependsOn: [candidate, host.owner, telemetry.publisher] },
    );
  }
}

/** https://learn.microsoft.com/azure/azure-functions/storage-considerations#host-id-considerations: more than 32 are cut off there. */
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
