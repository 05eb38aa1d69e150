import { Token } from "cdktn";
import { Construct } from "constructs";
import { electionCondition, OCCURRENCES_PREFIX, READ_BLOB, WRITE_BLOB } from "./election-condition.ts";
import { checkElections, granteeId, ProviderResource, RETAINED } from "../../terraform.ts";

/** The settings of each storage account: access only by Entra ID, and nothing public. */
export const CLOSED_ACCOUNT = {
  account_tier: "Standard",
  min_tls_version: "TLS1_2",
  shared_access_key_enabled: false,
  allow_nested_items_to_be_public: false,
  local_user_enabled: false,
} as const;

/** A resource group, by its id, name and location. */
export interface ResourceGroupReference {
  readonly id: string;
  readonly name: string;
  readonly location: string;
}

/** The receiver of a grant: a managed identity, or any object id in Entra ID. */
export interface Grantee {
  readonly principalId: string;
  /** @default "ServicePrincipal", which also fits managed identities */
  readonly principalType?: "ServicePrincipal" | "User" | "Group";
}

export interface LeaseContainerProps {
  /** The resource group of the storage account. */
  readonly resourceGroup: ResourceGroupReference;
  /** 3 to 24 lower-case letters and digits, unique among the storage accounts of the world. */
  readonly accountName: string;
  /** @default "leases" */
  readonly containerName?: string;
  /**
   * Deletes occurrences of schedules this many days after their last write, and nothing else. At least the `retentionMs` of the
   * functions.
   * @default - they are kept for ever
   */
  readonly deleteOccurrencesAfterDays?: number;
}

/** The time for which a deleted blob or container can be restored. */
const SOFT_DELETE_DAYS = 7;

/**
 * A container for lease blobs, in a storage account of its own. Terraform refuses to delete both.
 *
 * The account accepts no keys and makes nothing public. Versioning is off, because every write of a term or of an occurrence
 * would keep an old version for ever. Soft delete is on. A write of a lease or a term (metadata) keeps no copy with it. A deleted
 * lease blob can be restored with its term. A rewritten occurrence keeps a snapshot for a week. No lifecycle rule affects a
 * lease: the only possible rule has the prefix of the occurrences.
 *
 * No role of this construct can delete.
 */
export class LeaseContainer extends Construct {
  readonly account: ProviderResource;
  readonly container: ProviderResource;
  readonly accountName: string;
  readonly containerName: string;
  readonly #resourceGroup: ResourceGroupReference;

  /** @throws {Error} for names that Azure refuses. */
  constructor(scope: Construct, id: string, props: LeaseContainerProps) {
    super(scope, id);
    const { resourceGroup, accountName, containerName = "leases" } = props;
    checkNames(accountName, containerName);
    this.#resourceGroup = resourceGroup;
    this.accountName = accountName;
    this.containerName = containerName;

    this.account = new ProviderResource(
      this,
      "Account",
      "azurerm_storage_account",
      {
        name: accountName,
        resource_group_name: resourceGroup.name,
        location: resourceGroup.location,
        ...CLOSED_ACCOUNT,
        // Three zones have a write before Azure answers. A second region would get it later, and terms would repeat after a failover.
        account_replication_type: "ZRS",
        blob_properties: {
          versioning_enabled: false,
          delete_retention_policy: { days: SOFT_DELETE_DAYS },
          container_delete_retention_policy: { days: SOFT_DELETE_DAYS },
        },
      },
      RETAINED,
    );
    this.container = new ProviderResource(
      this,
      "Container",
      "azurerm_storage_container",
      { name: containerName, storage_account_id: this.account.id },
      RETAINED,
    );
    if (props.deleteOccurrencesAfterDays !== undefined) this.#deleteOccurrences(props.deleteOccurrencesAfterDays);
  }

  /** The `accountUrl` that a candidate gives to `BlobLeaseStore`. */
  get accountUrl(): string {
    return this.account.attribute("primary_blob_endpoint");
  }

  /**
   * Lets an identity compete in these elections and claim their occurrences. It may read and write only their blobs. An identity
   * can have one such grant here: name all of its elections in it.
   * @throws {Error} without an election, for an invalid one, or if there is a grant already.
   */
  grantCandidate(grantee: Grantee, ...elections: readonly string[]): ProviderResource {
    checkElections("grantCandidate", elections);
    return this.#assign("Candidate", grantee, electionCondition(elections));
  }

  /**
   * Lets an identity read who leads these elections, and who competes. It may read only their blobs.
   * @throws {Error} as `grantCandidate` does.
   */
  grantObserver(grantee: Grantee, ...elections: readonly string[]): ProviderResource {
    checkElections("grantObserver", elections);
    return this.#assign("Observer", grantee, electionCondition(elections));
  }

  /**
   * Lets a person break and transfer any lease here, and list them. Even this grant cannot delete.
   * @throws {Error} if there is a grant already.
   */
  grantAdministrator(grantee: Grantee): ProviderResource {
    return this.#assign("Administrator", grantee, undefined);
  }

  #deleteOccurrences(days: number): void {
    if (!Token.isUnresolved(days) && (!Number.isInteger(days) || days < 1)) {
      throw new Error(`deleteOccurrencesAfterDays is ${days}; it must be a whole number from 1, and cover retentionMs.`);
    }
    new ProviderResource(this, "Occurrences", "azurerm_storage_management_policy", {
      storage_account_id: this.account.id,
      rule: [
        {
          name: "leasehold-ticks",
          enabled: true,
          // The slash at its end excludes the lease of an election called ticks.
          filters: { blob_types: ["blockBlob"], prefix_match: [`${this.containerName}/${OCCURRENCES_PREFIX}`] },
          actions: { base_blob: { delete_after_days_since_modification_greater_than: days } },
        },
      ],
    });
  }

  #assign(
    role: RoleName,
    { principalId, principalType = "ServicePrincipal" }: Grantee,
    condition: string | undefined,
  ): ProviderResource {
    const id = granteeId(this, role, principalId);
    if (this.node.tryFindChild(id)) {
      throw new Error(
        `grant${role} was called twice for the same identity, and Azure takes one assignment of a role. Name all elections in one call.`,
      );
    }
    return new ProviderResource(this, id, "azurerm_role_assignment", {
      scope: this.container.id,
      principal_id: principalId,
      principal_type: principalType,
      // The `id` of a definition is Terraform's own.
      role_definition_id: this.#role(role).attribute("role_definition_resource_id"),
      ...(condition === undefined ? {} : { condition, condition_version: "2.0" }),
    });
  }

  /** Returns a role that is assignable in the resource group, because Azure requires a scope. It is assigned on the container. */
  #role(name: RoleName): ProviderResource {
    const made = this.node.tryFindChild(`${name}Role`) as ProviderResource | undefined;
    return (
      made ??
      new ProviderResource(this, `${name}Role`, "azurerm_role_definition", {
        // The name has to be unique in the tenant. The account's name is unique in the world.
        name: `Leasehold ${name} (${this.accountName})`,
        description: DESCRIPTIONS[name],
        scope: this.#resourceGroup.id,
        assignable_scopes: [this.#resourceGroup.id],
        permissions: [{ actions: [], data_actions: name === "Observer" ? [READ_BLOB] : [READ_BLOB, WRITE_BLOB] }],
      })
    );
  }
}

/**
 * The right to write includes creating a blob, its metadata, and every operation on its lease:
 * https://learn.microsoft.com/rest/api/storageservices/authorize-with-azure-active-directory#permissions-for-blob-service-operations
 */
const DESCRIPTIONS = {
  Candidate: "Competes in elections: reads and writes lease blobs, deletes nothing.",
  Observer: "Sees who leads: reads lease blobs.",
  Administrator: "Breaks and transfers leases: lists, reads and writes lease blobs, deletes nothing.",
} as const;
type RoleName = keyof typeof DESCRIPTIONS;

/** https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules#microsoftstorage */
function checkNames(accountName: string, containerName: string): void {
  if (!Token.isUnresolved(accountName) && !/^[a-z0-9]{3,24}$/.test(accountName)) {
    throw new Error(`accountName is ${JSON.stringify(accountName)}; it must have 3 to 24 lower-case letters and digits.`);
  }
  if (!Token.isUnresolved(containerName) && !/^(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*$/.test(containerName)) {
    throw new Error(
      `containerName is ${JSON.stringify(containerName)}; it must have 3 to 63 lower-case letters, digits and single hyphens.`,
    );
  }
}
