# Leases of Leasehold in a Firestore database, and the rights of its candidates. The tests compare this module with the construct
# LeaseDatabase of @leasehold/infra-gcp. It was never applied.
terraform {
  required_providers {
    google = { source = "hashicorp/google", version = "~> 7.20" }
  }
}

variable "project" {
  type = string
}

variable "location" {
  description = "The location of the data, which cannot be changed: a region such as europe-west1, or several, such as eur3"
  type        = string
}

variable "database_id" {
  type    = string
  default = "leases"
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,42}[a-z0-9]$", var.database_id))
    error_message = "A database of their own, with 4 to 44 lower-case letters, digits and hyphens, the first a letter."
  }
}

variable "candidates" {
  description = "The members that compete, such as serviceAccount:billing@my-project.iam.gserviceaccount.com"
  type        = set(string)
}

resource "google_firestore_database" "leases" {
  project                           = var.project
  name                              = var.database_id
  location_id                       = var.location
  type                              = "FIRESTORE_NATIVE"
  delete_protection_state           = "DELETE_PROTECTION_ENABLED"
  point_in_time_recovery_enablement = "POINT_IN_TIME_RECOVERY_ENABLED"
  deletion_policy                   = "ABANDON"
  lifecycle { prevent_destroy = true }
}

resource "google_project_iam_custom_role" "candidate" {
  project     = var.project
  role_id     = "lease_candidate_${replace(var.database_id, "-", "_")}"
  title       = "Lease candidate (${var.database_id})"
  description = "Competes in elections."
  permissions = [
    "datastore.databases.get",
    "datastore.entities.get",
    "datastore.entities.list",
    "datastore.entities.create",
    "datastore.entities.update",
  ]
}

# IAM can limit a member to a database, but not to documents. Candidates that do not trust each other need a database each.
resource "google_project_iam_member" "candidate" {
  for_each = var.candidates
  project  = var.project
  role     = google_project_iam_custom_role.candidate.id
  member   = each.value
  condition {
    title       = "Leasehold: ${var.database_id} only"
    description = "Access to this one database of the project"
    expression  = "resource.name == \"projects/${var.project}/databases/${var.database_id}\""
  }
}
