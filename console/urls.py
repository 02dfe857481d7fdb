"""Every address of the console: the API, signing in, what a supervisor asks, and the pages."""

from allauth.account import views as account
from django.urls import include, path

from console import health

# Of allauth only what people need who are added by an administrator.
accounts = [
    path("login/", account.login, name="account_login"),
    path("logout/", account.logout, name="account_logout"),
    path("inactive/", account.account_inactive, name="account_inactive"),
    path("reauthenticate/", account.reauthenticate, name="account_reauthenticate"),
    path("password/change/", account.password_change, name="account_change_password"),
]

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.figures, name="metrics"),
    path("api/", include("console.api.urls")),
    path("accounts/", include(accounts)),
    path("", include("console.views.urls")),
]

handler400 = "console.views.refusals.bad_request"
handler403 = "console.views.refusals.forbidden"
handler404 = "console.views.refusals.not_found"
handler500 = "console.views.refusals.broken"
