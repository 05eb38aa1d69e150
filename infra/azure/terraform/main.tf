# Leases of Leasehold in an Azure blob container, and the rights of its candidates. The tests compare this module with the construct
# LeaseContainer of @leasehold/infra-azure. It was never applied.
terraform {
  required_providers {
    azurerm = { source = "hashicorp/azurerm", version = "~> 4.73" }
  }
}
resource "azurerm_storage_account" "leases" {
  name                            = var.account_name
  resource_group_name             = var.resource_group.name
  location                        = var.resource_group.location
  account_tier                    = "Standard"
  account_replication_type        = "ZRS"
  min_tls_version                 = "TLS1_2"
  shared_access_key_enabled       = false
  allow_nested_items_to_be_public = false
  local_user_enabled              = false
  blob_properties {
    versioning_enabled = false
    delete_retention_policy { days = 7 }
    container_delete_retention_policy { days = 7 }
  }
  lifecycle { prevent_destroy = true }
}

resource "azurerm_storage_container" "leases" {
  name               = "leases"
  storage_account_id = azurerm_storage_account.leases.id
  lifecycle { prevent_destroy = true }
}

resource "azurerm_role_definition" "candidate" {
  name              = "Leasehold Candidate (${var.account_name})"
  description       = "Competes in elections: reads and writes lease blobs, deletes nothing."
  scope             = var.resource_group.id
  assignable_scopes = [var.resource_group.id]
  permissions {
    actions      = []
    data_actions = ["${local.blobs}/read", "${local.blobs}/write"]
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
