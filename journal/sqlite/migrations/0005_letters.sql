-- Which run has read a message, by the message's id: for who says it again when the log that is
-- still looked at does not tell any more.
CREATE INDEX mail_entered ON mail (id) WHERE kind = 'message' AND read = 1;
