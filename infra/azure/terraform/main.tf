# Leases of Leasehold in an Azure blob container, and the rights of its candidates. The tests compare this module with the construct
# LeaseContainer of @leasehold/infra-azure. It was never applied.

terraform {
  required_providers {
    azurerm = {
      source  = "hashicorp/azurerm"
      version = "~> 4.73"
    }
  }
}

resource "azurerm_storage_account" "leases" {
  name                             = var.account_name
  resource_group_name              = var.resource_group.name
  location                         = var.resource_group.location
  account_kind                     = "StorageV2"
  account_tier                     = "Standard"
  account_replication_type         = "ZRS"
  min_tls_version                  = "TLS1_2"
  https_traffic_only_enabled       = true
  shared_access_key_enabled        = false
  default_to_oauth_authentication  = true
  allow_nested_items_to_be_public  = false
  cross_tenant_replication_enabled = false
  local_user_enabled               = false
  sftp_enabled                     = false
  is_hns_enabled                   = false

  blob_properties {
    versioning_enabled  = false
    change_feed_enabled = false
    delete_retention_policy {
      days = 7
    }
    container_delete_retention_policy {
      days = 7
    }
  }

  lifecycle {
    prevent_destroy = true
  }
}

resource "azurerm_storage_container" "leases" {
  name                  = var.container_name
  storage_account_id    = azurerm_storage_account.leases.id
  container_access_type = "private"

  lifecycle {
    prevent_destroy = true
  }
}

# Deletes occurrences of schedules, and nothing else. The slash at the end excludes the lease of an election called ticks.
resource "azurerm_storage_management_policy" "occurrences" {
  count              = var.delete_occurrences_after_days == null ? 0 : 1
  storage_account_id = azurerm_storage_account.leases.id

  rule {
    name    = "leasehold-ticks"
    enabled = true
    filters {
      blob_types   = ["blockBlob"]
      prefix_match = ["${var.container_name}/ticks/"]
    }
    actions {
      base_blob {
        delete_after_days_since_modification_greater_than = var.delete_occurrences_after_days
      }
    }
  }
}

resource "azurerm_role_definition" "candidate" {
  name              = "Leasehold Candidate (${var.account_name})"
  description       = "Competes in elections: reads and writes lease blobs, deletes nothing."
  scope             = var.resource_group.id
  assignable_scopes = [var.resource_group.id]

  permissions {
    actions = []
    data_actions = [
      "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/read",
      "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write",
    ]
  }
}

resource "azurerm_role_assignment" "candidate" {
  for_each           = var.candidates
  scope              = azurerm_storage_container.leases.id
  principal_id       = each.value.principal_id
  principal_type     = "ServicePrincipal"
  role_definition_id = azurerm_role_definition.candidate.role_definition_resource_id
  condition          = local.conditions[each.key]
  condition_version  = "2.0"
}

output "account_url" {
  description = "LEASE_ACCOUNT_URL of the candidates"
  value       = azurerm_storage_account.leases.primary_blob_endpoint
}
