-- psql --set=password=SECRET --file=database.sql, as an administrator
CREATE ROLE agents LOGIN PASSWORD :'password';
CREATE DATABASE agents OWNER agents;
REVOKE CONNECT ON DATABASE agents FROM PUBLIC;
